/** Shows a run on a terminal, in a log file, or as JSON lines. */
package io.vertigrad.launcher.terminal;
