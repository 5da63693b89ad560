/**
 * Checkpoints of a shard: what is kept, its file format, and the folder that keeps the last few.
 */
package io.vertigrad.internal.checkpoint;
