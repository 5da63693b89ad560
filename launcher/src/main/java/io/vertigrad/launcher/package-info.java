/** The command line: train, node and doctor, and the class the stock Vert.x launcher starts. */
package io.vertigrad.launcher;
