package image

import (
	"errors"
	"fmt"
)

// A Kind is what an image is for OLM, by its labels.
type Kind int

// The kinds. An image with the labels of several is FileBased before SQLite
// before Bundle, as it is for OLM.
const (
	FileBased Kind = iota + 1 // a file-based catalog
	SQLite                    // a catalog in an SQLite database, the form before OpenShift 4.11
	Bundle                    // the manifests of one version of an operator
)

// String returns the kind in words.
func (k Kind) String() string {
	switch k {
	case FileBased:
		return "file-based catalog"
	case SQLite:
		return "SQLite index"
	case Bundle:
		return "bundle"
	}
	return "unknown"
}

// The errors of Read, Stream and Build for an image that is not a file-based catalog.
var (
	ErrSQLite = errors.New("the image is an SQLite index (label " + databaseLabel + "), not a file-based catalog, the format of all catalogs since OpenShift 4.11")
	ErrBundle = errors.New("the image is an operator bundle, not a catalog: use the catalog that contains it, or mirror it under additionalImages")
)

// mustBeFileBased returns an error for the other kinds.
func (i *Image) mustBeFileBased() error {
	switch i.kind {
	case FileBased:
		return nil
	case SQLite:
		return ErrSQLite
	default:
		return ErrBundle
	}
}

// mustBe returns an error for all kinds but one.
func (i *Image) mustBe(k Kind) error {
	if i.kind != k {
		return fmt.Errorf("it is a %s, not a %s", i.kind, k)
	}
	return nil
}

// Kind returns what the image is.
func (i *Image) Kind() Kind { return i.kind }
