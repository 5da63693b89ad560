/** Reports runs to programs that draw and compare them: TensorBoard and MLflow. */
package io.vertigrad.launcher.tracking;
