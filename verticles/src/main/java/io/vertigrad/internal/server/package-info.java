/** One shard's parameters: their store, the object that serves them, and their counters. */
package io.vertigrad.internal.server;
