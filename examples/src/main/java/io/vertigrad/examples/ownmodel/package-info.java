/** A network and a data set outside Vertigrad's own modules, trained from a job file. */
package io.vertigrad.examples.ownmodel;
