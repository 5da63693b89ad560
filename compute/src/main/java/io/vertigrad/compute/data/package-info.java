/**
 * Data sets, samplers and prefetched batches.
 *
 * <p>A {@link io.vertigrad.compute.data.DatasetProvider} opens a data set by name; a {@link
 * io.vertigrad.compute.data.Sampler} decides who sees which sample when; a {@link
 * io.vertigrad.compute.data.PrefetchingBatchSource} puts them side by side for training, changed by
 * an {@link io.vertigrad.compute.data.Augmentation} if the job asks for one, {@link
 * io.vertigrad.compute.data.SequentialBatches} for evaluation. No engine is named here.
 */
package io.vertigrad.compute.data;
