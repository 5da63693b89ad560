/** The parameters: one shard's store, the plain object that serves it, and its counters. */
package io.vertigrad.internal.server;
