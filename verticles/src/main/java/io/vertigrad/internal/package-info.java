/** Code that several internal packages share: records as JSON. */
package io.vertigrad.internal;
