/** Runs workers inside a Vert.x application that also has other tasks. */
package io.vertigrad.examples.besideverticles;
