/** Follows a run through its page's bridge, from a program outside the cluster. */
package io.vertigrad.examples.metricsbridge;
