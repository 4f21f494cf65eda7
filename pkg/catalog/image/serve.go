package image

// Directory returns the directory of the file-based catalog, "/configs", or "".
func (i *Image) Directory() string {
	if i.kind != FileBased {
		return ""
	}
	return "/" + i.dir
}

// BinaryLess reports whether the image has no program for at least one of its platforms. A
// CatalogSource then needs grpcPodConfig.extractContent.
func (i *Image) BinaryLess() bool {
	for _, p := range i.image.Platforms {
		if len(command(p.Command).argv()) == 0 {
			return true
		}
	}
	return false
}
