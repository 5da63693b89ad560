/** A network and a data set from outside, trained from a job file. */
package io.vertigrad.examples.ownmodel;
