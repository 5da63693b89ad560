/** The built-in networks of the DL4J engine, each a factory that is selected by name. */
package io.vertigrad.engine.dl4j.models;
