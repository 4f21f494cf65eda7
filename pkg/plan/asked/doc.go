// Package asked finds out which lines of a configuration asked for what a plan has.
//
// The main type is [Lines]: it finds the line of a package, a release, a chart, a file or an image. What was
// selected because something else needs it is asked for by the lines of what needs it. [Lines.Without] says what
// would no longer be mirrored without a line.
//
// A plan is matched with its configuration by names, so that lines are right even if the file was changed since.
//
// Start with [New] in lines.go.
package asked
