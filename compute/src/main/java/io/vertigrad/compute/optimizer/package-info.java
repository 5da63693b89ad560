/** Optimizers of one partition: learning-rate schedule, decay, and an engine's update rule. */
package io.vertigrad.compute.optimizer;
