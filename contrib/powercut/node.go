package main

import (
	"context"
	"maps"
	"slices"
	"syscall"
	"time"

	"github.com/hanwen/go-fuse/v2/fs"
	"github.com/hanwen/go-fuse/v2/fuse"
)

// A node is an inode as the kernel asks for it.
type node struct {
	fs.Inode
	disk *disk
	i    *inode
}

// What the kernel may ask of a node.
var (
	_ fs.NodeLookuper   = (*node)(nil)
	_ fs.NodeReaddirer  = (*node)(nil)
	_ fs.NodeGetattrer  = (*node)(nil)
	_ fs.NodeSetattrer  = (*node)(nil)
	_ fs.NodeCreater    = (*node)(nil)
	_ fs.NodeMkdirer    = (*node)(nil)
	_ fs.NodeMknoder    = (*node)(nil)
	_ fs.NodeSymlinker  = (*node)(nil)
	_ fs.NodeReadlinker = (*node)(nil)
	_ fs.NodeLinker     = (*node)(nil)
	_ fs.NodeUnlinker   = (*node)(nil)
	_ fs.NodeRmdirer    = (*node)(nil)
	_ fs.NodeRenamer    = (*node)(nil)
	_ fs.NodeOpener     = (*node)(nil)
	_ fs.NodeReader     = (*node)(nil)
	_ fs.NodeWriter     = (*node)(nil)
	_ fs.NodeFsyncer    = (*node)(nil)
	_ fs.NodeAllocater  = (*node)(nil)
	_ fs.NodeStatfser   = (*node)(nil)
)

// A handle is an open file.
type handle struct{ synced bool } // each write is synced: O_SYNC, O_DSYNC

func newHandle(flags uint32) *handle { return &handle{flags&(syscall.O_SYNC|syscall.O_DSYNC) != 0} }

// attr fills in what stat returns. The disk is locked.
func (n *node) attr(out *fuse.Attr, i *inode) {
	out.Ino, out.Mode, out.Nlink, out.Blksize = i.number, i.mode, 1, pageBytes
	out.Size, out.Blocks = uint64(i.seen.size), uint64(len(i.seen.pages))*pageBytes/512
	if i.target != "" {
		out.Size = uint64(len(i.target))
	}
	out.SetTimes(&i.modified, &i.modified, &i.modified)
}

// child returns the inode of the kernel for i. The disk is locked.
func (n *node) child(ctx context.Context, i *inode, out *fuse.EntryOut) *fs.Inode {
	n.attr(&out.Attr, i)
	return n.NewInode(ctx, &node{disk: n.disk, i: i}, fs.StableAttr{Mode: i.mode & syscall.S_IFMT, Ino: i.number})
}

func (n *node) Lookup(ctx context.Context, name string, out *fuse.EntryOut) (*fs.Inode, syscall.Errno) {
	n.disk.mu.Lock()
	defer n.disk.mu.Unlock()
	i := n.i.entries[name]
	if i == nil {
		return nil, syscall.ENOENT
	}
	return n.child(ctx, i, out), 0
}

func (n *node) Readdir(context.Context) (fs.DirStream, syscall.Errno) {
	n.disk.mu.Lock()
	defer n.disk.mu.Unlock()
	var all []fuse.DirEntry
	for _, name := range slices.Sorted(maps.Keys(n.i.entries)) {
		i := n.i.entries[name]
		all = append(all, fuse.DirEntry{Name: name, Mode: i.mode & syscall.S_IFMT, Ino: i.number})
	}
	return fs.NewListDirStream(all), 0
}

func (n *node) Getattr(_ context.Context, _ fs.FileHandle, out *fuse.AttrOut) syscall.Errno {
	n.disk.mu.Lock()
	defer n.disk.mu.Unlock()
	n.attr(&out.Attr, n.i)
	return 0
}

func (n *node) Setattr(_ context.Context, _ fs.FileHandle, in *fuse.SetAttrIn, out *fuse.AttrOut) syscall.Errno {
	n.disk.mu.Lock()
	defer n.disk.mu.Unlock()
	if size, ok := in.GetSize(); ok {
		n.i.truncate(int64(size))
	}
	if mode, ok := in.GetMode(); ok {
		n.i.mode = n.i.mode&syscall.S_IFMT | mode&^syscall.S_IFMT
	}
	if at, ok := in.GetMTime(); ok {
		n.i.modified = at
	}
	n.attr(&out.Attr, n.i)
	return 0
}

func (n *node) add(ctx context.Context, name string, mode uint32, target string, out *fuse.EntryOut) (*fs.Inode, syscall.Errno) {
	n.disk.mu.Lock()
	defer n.disk.mu.Unlock()
	if n.disk.full {
		return nil, syscall.ENOSPC
	}
	if n.i.entries[name] != nil {
		return nil, syscall.EEXIST
	}
	i := n.disk.newInode(mode)
	i.target = target
	n.set(name, i)
	return n.child(ctx, i, out), 0
}

// set changes an entry; nil removes it. The disk is locked.
func (n *node) set(name string, i *inode) {
	if i == nil {
		delete(n.i.entries, name)
	} else {
		n.i.entries[name] = i
	}
	n.i.modified = time.Now()
	n.disk.changed[n.i] = true
}

func (n *node) Create(ctx context.Context, name string, flags, mode uint32, out *fuse.EntryOut) (*fs.Inode, fs.FileHandle, uint32, syscall.Errno) {
	i, errno := n.add(ctx, name, syscall.S_IFREG|mode&0o7777, "", out)
	return i, newHandle(flags), 0, errno
}

func (n *node) Mkdir(ctx context.Context, name string, mode uint32, out *fuse.EntryOut) (*fs.Inode, syscall.Errno) {
	return n.add(ctx, name, syscall.S_IFDIR|mode&0o7777, "", out)
}

func (n *node) Mknod(ctx context.Context, name string, mode, _ uint32, out *fuse.EntryOut) (*fs.Inode, syscall.Errno) {
	return n.add(ctx, name, mode, "", out)
}

func (n *node) Symlink(ctx context.Context, target, name string, out *fuse.EntryOut) (*fs.Inode, syscall.Errno) {
	return n.add(ctx, name, syscall.S_IFLNK|0o777, target, out)
}

func (n *node) Readlink(context.Context) ([]byte, syscall.Errno) { return []byte(n.i.target), 0 }

func (n *node) Link(ctx context.Context, target fs.InodeEmbedder, name string, out *fuse.EntryOut) (*fs.Inode, syscall.Errno) {
	t, ok := target.(*node)
	if !ok {
		return nil, syscall.EXDEV
	}
	n.disk.mu.Lock()
	defer n.disk.mu.Unlock()
	n.set(name, t.i)
	return n.child(ctx, t.i, out), 0
}

func (n *node) Unlink(_ context.Context, name string) syscall.Errno {
	n.disk.mu.Lock()
	defer n.disk.mu.Unlock()
	if n.i.entries[name] == nil {
		return syscall.ENOENT
	}
	n.set(name, nil)
	return 0
}

func (n *node) Rmdir(_ context.Context, name string) syscall.Errno {
	n.disk.mu.Lock()
	defer n.disk.mu.Unlock()
	switch i := n.i.entries[name]; {
	case i == nil:
		return syscall.ENOENT
	case len(i.entries) > 0:
		return syscall.ENOTEMPTY
	}
	n.set(name, nil)
	return 0
}

const exchange, noReplace = 2, 1 // of renameat2

func (n *node) Rename(_ context.Context, name string, parent fs.InodeEmbedder, newName string, flags uint32) syscall.Errno {
	to, ok := parent.(*node)
	if !ok {
		return syscall.EXDEV
	}
	n.disk.mu.Lock()
	defer n.disk.mu.Unlock()
	i, there := n.i.entries[name], to.i.entries[newName]
	switch {
	case i == nil:
		return syscall.ENOENT
	case flags&noReplace != 0 && there != nil:
		return syscall.EEXIST
	case there != nil && len(there.entries) > 0 && flags&exchange == 0:
		return syscall.ENOTEMPTY
	case flags&exchange != 0:
		n.set(name, there)
	default:
		n.set(name, nil)
	}
	to.set(newName, i)
	return 0
}

func (n *node) Open(_ context.Context, flags uint32) (fs.FileHandle, uint32, syscall.Errno) {
	if flags&syscall.O_TRUNC != 0 {
		n.disk.mu.Lock()
		defer n.disk.mu.Unlock()
		n.i.truncate(0)
	}
	return newHandle(flags), 0, 0
}

func (n *node) Read(_ context.Context, _ fs.FileHandle, b []byte, at int64) (fuse.ReadResult, syscall.Errno) {
	n.disk.mu.Lock()
	defer n.disk.mu.Unlock()
	return fuse.ReadResultData(b[:n.i.read(b, at)]), 0
}

func (n *node) Write(_ context.Context, f fs.FileHandle, b []byte, at int64) (uint32, syscall.Errno) {
	n.disk.mu.Lock()
	defer n.disk.mu.Unlock()
	written := n.disk.write(n.i, b, at)
	if h, ok := f.(*handle); ok && h.synced {
		n.disk.sync(n.i)
	}
	if written == 0 && len(b) > 0 {
		return 0, syscall.ENOSPC
	}
	return uint32(written), 0
}

func (n *node) Fsync(context.Context, fs.FileHandle, uint32) syscall.Errno {
	n.disk.mu.Lock()
	defer n.disk.mu.Unlock()
	n.disk.sync(n.i)
	return 0
}

// Flush comes with each close, and syncs nothing.
func (n *node) Flush(context.Context, fs.FileHandle) syscall.Errno { return 0 }

const keepSize = 1 // of fallocate

func (n *node) Allocate(_ context.Context, _ fs.FileHandle, at, size uint64, mode uint32) syscall.Errno {
	n.disk.mu.Lock()
	defer n.disk.mu.Unlock()
	if mode&^keepSize != 0 {
		return syscall.EOPNOTSUPP
	}
	if n.disk.full {
		return syscall.ENOSPC
	}
	if end := int64(at + size); mode&keepSize == 0 && end > n.i.seen.size {
		n.i.truncate(end)
	}
	return 0
}

// Statfs reports a disk with much space: nats-server looks.
func (n *node) Statfs(_ context.Context, out *fuse.StatfsOut) syscall.Errno {
	n.disk.mu.Lock()
	defer n.disk.mu.Unlock()
	const blocks = 64 << 30 / pageBytes
	out.Bsize, out.Frsize, out.Blocks, out.Bfree, out.Bavail, out.NameLen = pageBytes, pageBytes, blocks, blocks, blocks, 255
	if n.disk.full {
		out.Bfree, out.Bavail = 0, 0
	}
	return 0
}
