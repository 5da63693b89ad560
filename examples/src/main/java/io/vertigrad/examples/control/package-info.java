/** Jobs that an application controls while they run, as shown in {@code docs/reference/api.md}. */
package io.vertigrad.examples.control;
