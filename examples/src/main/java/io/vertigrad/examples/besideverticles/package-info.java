/** Workers inside a Vert.x application that has other things to do. */
package io.vertigrad.examples.besideverticles;
