/** Turns a job file and the command line's assignments into one checked job. */
package io.vertigrad.launcher.job;
