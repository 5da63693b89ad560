/** A generated stream whose concept drifts, as a source of the data set {@code stream}. */
package io.vertigrad.examples.stream;
