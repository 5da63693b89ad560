/** What is told to other programs that draw and compare runs: TensorBoard and MLflow. */
package io.vertigrad.launcher.tracking;
