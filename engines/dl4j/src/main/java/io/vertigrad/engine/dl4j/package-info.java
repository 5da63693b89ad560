/** The Deeplearning4j engine: the only package, with those below it, that knows DL4J and ND4J. */
package io.vertigrad.engine.dl4j;
