/** The networks that come with the DL4J engine, each a factory selected by name. */
package io.vertigrad.engine.dl4j.models;
