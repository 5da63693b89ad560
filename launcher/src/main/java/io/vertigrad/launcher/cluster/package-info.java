/** Starts Vert.x, alone or clustered; the only package that uses Hazelcast. */
package io.vertigrad.launcher.cluster;
