/** The data set {@code stream}: events, their schema, their tests and their sources. */
package io.vertigrad.streams.internal;
