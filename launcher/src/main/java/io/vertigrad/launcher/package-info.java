/** The command line, and the main class that also starts the stock Vert.x launcher. */
package io.vertigrad.launcher;
