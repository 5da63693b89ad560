/** Checkpoints of a shard: their contents, the file format, and the folder with the last few. */
package io.vertigrad.internal.checkpoint;
