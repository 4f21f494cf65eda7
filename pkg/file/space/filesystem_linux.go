package space

import (
	"errors"
	"fmt"

	"golang.org/x/sys/unix"
)

// FileSystem returns the kind of the file system of a folder, such as "ext4" or "nfs", or its number in
// hexadecimal (statfs(2)) if it has no name here. On other operating systems than Linux, the error is
// errors.ErrUnsupported.
func FileSystem(dir string) (string, error) {
	var st unix.Statfs_t
	for {
		err := unix.Statfs(dir, &st)
		if errors.Is(err, unix.EINTR) {
			continue
		}
		if err != nil {
			return "", err
		}
		break
	}
	number := uint32(st.Type) //nolint:gosec // it has 32 bits, and other types on other machines
	switch number {
	case unix.EXT4_SUPER_MAGIC:
		return "ext4", nil
	case unix.XFS_SUPER_MAGIC:
		return "xfs", nil
	case unix.BTRFS_SUPER_MAGIC:
		return "btrfs", nil
	case unix.TMPFS_MAGIC:
		return "tmpfs", nil
	case unix.RAMFS_MAGIC:
		return "ramfs", nil
	case unix.NFS_SUPER_MAGIC:
		return "nfs", nil
	case unix.CIFS_SUPER_MAGIC:
		return "cifs", nil
	case unix.SMB2_SUPER_MAGIC:
		return "smb2", nil
	case unix.OVERLAYFS_SUPER_MAGIC:
		return "overlay", nil
	case unix.MSDOS_SUPER_MAGIC:
		return "vfat", nil
	case unix.EXFAT_SUPER_MAGIC:
		return "exfat", nil
	case unix.FUSE_SUPER_MAGIC:
		return "fuse", nil
	case unix.V9FS_MAGIC:
		return "9p", nil
	case 0x2fc12fc1:
		return "zfs", nil
	case 0x00c36400:
		return "ceph", nil
	}
	return fmt.Sprintf("number %#x", number), nil
}
