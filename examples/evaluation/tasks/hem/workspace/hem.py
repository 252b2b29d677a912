def cut(length, seam):
    return length - seam
