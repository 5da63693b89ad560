/** Starts Vert.x, alone or clustered; the only package that knows Hazelcast. */
package io.vertigrad.launcher.cluster;
