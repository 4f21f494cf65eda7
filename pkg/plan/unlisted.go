package plan

// An UnlistedImage is an image that the ClusterServiceVersion of a bundle uses and that the relatedImages
// of the bundle lack.
type UnlistedImage struct {
	Package string `json:"package"`
	Bundle  string `json:"bundle"`
	// Image is the full reference.
	Image string `json:"image"`
	// Found are the places that name it, such as "variable RELATED_IMAGE_X of container manager in
	// deployment foo".
	Found []string `json:"found"`
	// ListedAs is a related image of the bundle with the same digest and another name, usually "". Clusters
	// do not find the image under that name.
	ListedAs string `json:"listedAs,omitempty"`
	// Mirrored reports whether the plan has the image, because the configuration asks for such images or
	// for another reason.
	Mirrored bool `json:"mirrored,omitempty"`
}

// checkUnlisted checks what a catalog says of images that its bundles do not list.
func (c *Catalog) checkUnlisted() error {
	for i := range c.Unlisted {
		u := &c.Unlisted[i]
		if err := checkTexts("a package", u.Package, "a bundle", u.Bundle); err != nil {
			return err
		}
		if err := checkReference("an image", u.Image, ""); err != nil {
			return err
		}
		if u.ListedAs != "" {
			if err := checkReference("a related image", u.ListedAs, ""); err != nil {
				return err
			}
		}
		for _, where := range u.Found {
			if err := checkText("the place of an image", where); err != nil {
				return err
			}
		}
	}
	return nil
}
