/** The interface by which a source brings events to the data set {@code stream}. */
package io.vertigrad.streams;
