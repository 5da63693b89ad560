/** What members did when: spans, recorded where they happen and shipped to whoever writes them. */
package io.vertigrad.internal.timeline;
