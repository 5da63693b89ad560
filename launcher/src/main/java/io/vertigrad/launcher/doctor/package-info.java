/** Checks of this machine and a job, each with what to do about it. */
package io.vertigrad.launcher.doctor;
