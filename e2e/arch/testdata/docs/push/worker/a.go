// This package begins with the wrong word.
package worker
