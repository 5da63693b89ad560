/** Starts a node of a job's cluster: Vert.x with Hazelcast, where every connection is proved. */
package io.vertigrad.cluster;
