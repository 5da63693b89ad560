/**
 * Data sets, samplers and prefetched batches.
 *
 * <p>A {@link io.vertigrad.compute.data.DatasetProvider} opens a data set by name. A {@link
 * io.vertigrad.compute.data.Sampler} decides which worker reads which sample when. A {@link
 * io.vertigrad.compute.data.PrefetchingBatchSource} assembles batches for training and applies an
 * {@link io.vertigrad.compute.data.Augmentation} if the job asks for one; {@link
 * io.vertigrad.compute.data.SequentialBatches} does so for evaluation. The package does not depend
 * on any engine.
 */
package io.vertigrad.compute.data;
