/** Data sets, samplers and prefetched batches. */
package io.vertigrad.compute.data;
