/**
 * The inside of a node, and how nodes find a job. It is the only package that uses Hazelcast. It
 * uses inner classes of it and of Vert.x; docs/internals/architecture.md says which, and why.
 */
package io.vertigrad.internal.cluster;
