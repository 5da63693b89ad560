/** The files of a run: its folder, events, log, summary and model. */
package io.vertigrad.launcher.run;
