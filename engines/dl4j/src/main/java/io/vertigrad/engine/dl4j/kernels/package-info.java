/**
 * Layers that compute the same as DL4J's own, several times faster.
 *
 * <p>They replace the stock layers inside a built network. The network's configuration, and so its
 * saved file, keeps the stock layers.
 */
package io.vertigrad.engine.dl4j.kernels;
