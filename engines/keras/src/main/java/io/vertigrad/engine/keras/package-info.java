/** Reads Keras models in HDF5 files as networks of the DL4J engine. */
package io.vertigrad.engine.keras;
