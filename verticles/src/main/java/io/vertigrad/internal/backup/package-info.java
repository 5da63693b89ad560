/** Keeps a copy of a shard at another server, which continues with it when the first is lost. */
package io.vertigrad.internal.backup;
