/** A parameter server: its membership, the shard in service, and checkpoints. */
package io.vertigrad.internal.server;
