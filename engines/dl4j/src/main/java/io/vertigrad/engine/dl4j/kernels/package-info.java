/**
 * Layers that compute the same as DL4J's own, several times faster.
 *
 * <p>They are put in place of the stock layers inside a built network; its configuration, and so
 * its saved file, keeps the stock ones.
 */
package io.vertigrad.engine.dl4j.kernels;
