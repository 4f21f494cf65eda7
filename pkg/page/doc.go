// Package page renders one self-contained HTML file: for a plan, an archive, a mirror or a finished run.
//
// The three main types:
//
//   - Document is the content as plain values: facts, and sections with messages, tables, a treemap and items.
//   - Row and Item are what readers search for. They name the line of the configuration that asked for them.
//   - Treemap shows sizes as areas.
//
// Write renders a document, WriteFile writes it completely or not at all. The file needs no network and no server; its
// content security policy permits only its own style sheet and script. Without the script, only searching and
// sorting are missing. Names and messages are untrusted: every text is escaped, and passwords in addresses are removed. The same document gives the same bytes.
//
// This package knows no plans; planpage makes the document of a plan.
//
// Start with Document in document.go, then read Write.
package page
