/** Starts Vert.x, alone or clustered; the only room that knows Hazelcast. */
package io.vertigrad.launcher.cluster;
