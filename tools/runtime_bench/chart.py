def chart(r,s): return ''
