/** Following a run through its page's bridge, from a program that is no node of the cluster. */
package io.vertigrad.examples.metricsbridge;
