/** How a run looks on a terminal, in a log file, or as JSON lines. */
package io.vertigrad.launcher.terminal;
